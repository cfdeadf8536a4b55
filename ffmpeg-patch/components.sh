# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2054 # build.sh uses the variables; commas belong to FFmpeg's options
#
# The components of FFmpeg that build.sh configures. A name that a version of FFmpeg lacks is left out by its configure, and
# so are the filters that need --enable-gpl (interlace, tinterlace, ...) where it is not given.

# Libraries that are used where they are installed: pkg-config's condition or the path of a header, the flag, the Debian
# package, what it is for.
kLibraries=(
  "zimg >= 2.7.0|--enable-libzimg|libzimg-dev|the filter zscale"
  "dav1d >= 1.0.0|--enable-libdav1d|libdav1d-dev|AV1"
  "libxml-2.0|--enable-libxml2|libxml2-dev|the IMF demuxer"
  "freetype2|--enable-libfreetype|libfreetype-dev|the filter drawtext"
  "harfbuzz|--enable-libharfbuzz|libharfbuzz-dev|the filter drawtext"
  "fontconfig|--enable-libfontconfig|libfontconfig-dev|fonts by their names in drawtext"
)
# With --full, what transcoding services expect of a distribution's FFmpeg, as far as the LGPL allows it.
if [[ ${CJ2K_FFMPEG_PARTS:-all} == full ]]; then
  kLibraries+=(
    "gnutls|--enable-gnutls|libgnutls28-dev|https and tls"
    "srt >= 1.3.0|--enable-libsrt|libsrt-gnutls-dev|SRT"
    "soxr|--enable-libsoxr|libsoxr-dev|the resampler soxr"
    "opus|--enable-libopus|libopus-dev|an Opus encoder"
    "/usr/include/lame/lame.h|--enable-libmp3lame|libmp3lame-dev|an MP3 encoder"
    "vpx >= 1.4.0|--enable-libvpx|libvpx-dev|VP8 and VP9 encoders"
    "SvtAv1Enc >= 0.9.0|--enable-libsvtav1|libsvtav1enc-dev|an AV1 encoder"
    "openh264 >= 1.3.0|--enable-libopenh264|libopenh264-dev|an H.264 encoder under a BSD licence"
    "libwebp >= 0.2.0|--enable-libwebp|libwebp-dev|a WebP encoder"
    "libass >= 0.11.0|--enable-libass|libass-dev|the filters ass and subtitles"
    "lcms2 >= 2.13|--enable-lcms2|liblcms2-dev|ICC profiles"
    "/usr/include/snappy-c.h|--enable-libsnappy|libsnappy-dev|a HAP encoder"
    "/usr/include/bzlib.h|--enable-bzlib|libbz2-dev|bzip2 in Matroska"
    "liblzma|--enable-lzma|liblzma-dev|LZMA in TIFF"
  )
fi
if [[ -n ${windows:-} ]]; then kLibraries=(); fi # Debian has none of them for Windows
readonly kLibraries

# join WORDS...: all words of all arguments, separated by commas.
join() { echo "$*" | tr -s ' \n' ','; }

case ${CJ2K_FFMPEG_PARTS:-all} in
  # What post-production uses around JPEG 2000: half of FFmpeg (1226 object files of 2398, with 8.1).
  all)
    kDemuxers=$(join mov mxf imf matroska avi nut mpegts mpegps mpegvideo asf flv gxf dv ogg \
      image2 image2pipe image_{bmp,dpx,exr,j2k,jpeg,pam,pbm,pgm,ppm,png,sgi,tiff}_pipe rawvideo yuv4mpegpipe \
      h264 hevc vc1 obu ivf dnxhd mjpeg m4v aac ac3 eac3 dts truehd flac mp3 wav w64 aiff au caf \
      pcm_{s16,s24,s32,f32}{le,be} concat ffmetadata framecrc srt)
    kMuxers=$(join mxf mxf_opatom mxf_dcp mxf_imf mxf_d10 mov mp4 matroska webm avi nut mpegts gxf image2 image2pipe rawvideo \
      yuv4mpegpipe null wav w64 aiff flac adts pcm_{s16,s24,s32}le framecrc framehash framemd5 hash md5 streamhash crc \
      segment tee ffmetadata)
    kDecoders=$(join jpeg2000 h264 hevc vp8 vp9 libdav1d prores prores_raw apv cfhd dnxhd ffv1 huffyuv ffvhuff utvideo \
      magicyuv hap vc1 wmv3 mpeg1video mpeg2video mpegvideo mpeg4 dvvideo mjpeg mjpegb jpegls qtrle \
      png tiff dpx exr bmp targa sgi psd webp gif pam pbm pgm pgmyuv ppm \
      rawvideo wrapped_avframe v210 v210x v308 v408 v410 r210 r10k avrp avui yuv4 y41p bitpacked \
      aac aac_latm ac3 eac3 dca truehd mlp flac alac mp2float mp3float opus vorbis wmav2 wmapro s302m dolby_e \
      pcm_{s16,s24,s32,f32,f64}{le,be} pcm_{s16,s24}{le,be}_planar pcm_{u8,s8,alaw,mulaw,bluray,dvd,s24daud} \
      adpcm_{ms,ima_wav,ima_qt} ssa srt subrip mov_text)
    kEncoders=$(join j2k_cuda libcj2k libopenjpeg jpeg2000 rawvideo wrapped_avframe png tiff dpx exr bmp targa sgi mjpeg \
      pam pbm pgm pgmyuv ppm ffv1 ffvhuff huffyuv utvideo magicyuv prores prores_aw prores_ks dnxhd cfhd mpeg2video \
      v210 v308 v408 v410 r210 r10k aac ac3 eac3 flac alac pcm_{s16,s24,s32,f32}le pcm_{s16,s24}be srt subrip)
    kParsers=$(join jpeg2000 h264 hevc vp8 vp9 av1 vc1 mpegvideo mpeg4video mjpeg dnxhd dpx prores png bmp pnm webp ffv1 \
      aac aac_latm ac3 flac mpegaudio mlp dca opus vorbis dolby_e)
    kFilters=$(join scale scale2ref zscale format noformat colorspace colormatrix colorchannelmixer colorbalance colorlevels \
      colortemperature curves exposure eq hue selectivecolor lut lut1d lut2 lut3d lutrgb lutyuv haldclut haldclutsrc tonemap \
      geq limiter negate normalize deband gradfun unsharp cas convolution gblur hqdn3d nlmeans noise \
      overlay blend alphaextract alphamerge premultiply unpremultiply mergeplanes extractplanes shuffleplanes swapuv \
      colorkey chromakey fade xfade drawtext drawbox drawgrid \
      yadif bwdif w3fdif estdif idet interlace tinterlace separatefields weave doubleweave field fieldorder fieldhint \
      fieldmatch decimate telecine detelecine pullup setfield fps framerate framestep minterpolate mix tmix dejudder \
      crop pad hflip vflip transpose rotate hstack vstack xstack tile setsar setdar setparams setrange setpts settb \
      select trim split loop reverse tpad thumbnail concat metadata sendcmd cropdetect blackdetect freezedetect scdet \
      psnr ssim xpsnr signalstats showinfo showpalette histogram waveform vectorscope datascope \
      null nullsrc copy color testsrc testsrc2 rgbtestsrc yuvtestsrc smptebars smptehdbars pal75bars allrgb allyuv \
      colorchart colorspectrum gradients mandelbrot life zoneplate movie amovie hwupload hwdownload \
      aformat anull anullsrc sine aevalsrc anoisesrc aresample asetrate asetpts asettb asetnsamples atrim atempo asplit \
      apad adelay afade aloop aselect amix amerge join channelmap channelsplit pan volume volumedetect astats ashowinfo \
      ametadata loudnorm ebur128 alimiter acompressor highpass lowpass silencedetect showwavespic showspectrumpic)
    parts=(--disable-everything --disable-network --enable-bsfs --enable-indev=lavfi
      --enable-protocol=file,pipe,fd,concat,concatf,subfile,data,md5,cache,async)
    cuda_parts=(--enable-nvdec --enable-hwaccel="$(join {h264,hevc,mpeg2,mpeg4,mjpeg,vc1,vp8,vp9}_nvdec)"
      --enable-filter=hwupload_cuda)
    ;;
  # What tests/ffmpeg cannot do without, in less time.
  tests)
    kDemuxers=mov,mxf,matroska,avi,nut,image2,image2pipe,image_j2k_pipe,image_png_pipe,rawvideo
    kMuxers=mxf,mxf_opatom,mxf_dcp,mxf_imf,mov,mp4,matroska,avi,nut,image2,rawvideo,null,framemd5,tee
    kDecoders=jpeg2000,png,dpx,tiff,ppm,rawvideo,v210,wrapped_avframe,pcm_s16le,pcm_s24le
    kEncoders=j2k_cuda,libcj2k,libopenjpeg,jpeg2000,rawvideo,v210,png,wrapped_avframe,pcm_s16le,pcm_s24le
    kParsers=jpeg2000,png
    kFilters=$(join scale format null color testsrc2 psnr trim setpts settb setparams setfield fps select vflip hwupload \
      hwdownload sine anull aformat aresample)
    parts=(--disable-everything --disable-network --enable-bsf=j2k_jp2,j2k_transcode --enable-indev=lavfi
      --enable-protocol=file,pipe,fd,concat)
    cuda_parts=(--enable-filter=hwupload_cuda)
    ;;
  # Every component of FFmpeg's own.
  full)
    parts=(--enable-iconv)
    cuda_parts=(--enable-nvdec --enable-nvenc --enable-cuvid)
    ;;
  *) die "CJ2K_FFMPEG_PARTS $CJ2K_FFMPEG_PARTS is not all, tests or full" ;;
esac
if [[ -n ${kDemuxers:-} ]]; then
  parts+=("--enable-demuxer=$kDemuxers" "--enable-muxer=$kMuxers" "--enable-decoder=$kDecoders"
    "--enable-encoder=$kEncoders" "--enable-parser=$kParsers" "--enable-filter=$kFilters")
fi
readonly parts cuda_parts
readonly kFlags=(
  --disable-autodetect --disable-doc --disable-debug --disable-ffplay
  --enable-pthreads --enable-zlib --enable-version3 --enable-libopenjpeg --enable-libcj2k
)
# Added if there are nv-codec-headers. The programs open the driver at run time, so they also run without one.
readonly kCudaFlags=(--enable-ffnvcodec --enable-cuda)
# Added if there is clang, too: FFmpeg's own kernels, for which clang needs no CUDA toolkit.
readonly kCudaFilters=(--enable-cuda-llvm
  --enable-filter="$(join {scale,overlay,yadif,bwdif,thumbnail,chromakey,colorspace,bilateral,pad,transpose}_cuda)")
# With --windows: by Debian's MinGW-w64, and what it links is static.
readonly kWindowsFlags=(--enable-cross-compile --cross-prefix=x86_64-w64-mingw32- --arch=x86_64 --target-os=mingw32
  --pkg-config=pkg-config --disable-libopenjpeg --disable-w32threads --extra-ldflags=-static)
