# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# FFmpeg with the encoder j2k_cuda, for transcoding services. docs/container.md says how to build and run it:
#
#     scripts/build_image.sh -t libcj2k             with labels and reproducible layers, by docker or buildah
#     docker build -t libcj2k .
#
# BASE and RUNTIME_BASE are of one release of Debian or Ubuntu: the programs built on one run on the other. A BASE with a
# CUDA toolkit of 12.0 or newer saves fetching nvcc.
ARG BASE=debian:bookworm-slim
ARG RUNTIME_BASE=debian:bookworm-slim

# --- build: compilers, the library, FFmpeg; /image has what the runtime image gets -------------------------------------
FROM ${BASE} AS build
ARG CUDA=ON
ARG FFMPEG_VERSION=8.1
# full, all or tests: see ffmpeg-patch/build.sh
ARG FFMPEG_PARTS=full
# For example FFMPEG_FLAGS="--enable-gpl --enable-libx264" and PACKAGES=libx264-dev
ARG FFMPEG_FLAGS=
ARG PACKAGES=
WORKDIR /build/cj2k
COPY scripts/install_deps.sh scripts/get_nvcc.sh scripts/
RUN scripts/install_deps.sh core ffmpeg $([ "$FFMPEG_PARTS" != full ] || echo ffmpeg_full) && \
    { [ -z "$PACKAGES" ] || apt-get install -qq -y --no-install-recommends $PACKAGES; } && \
    { [ "$CUDA" != ON ] || scripts/get_nvcc.sh /opt/cuda; }
COPY . .
ARG CUDA_ARCHITECTURES=75-real;80-real;86-real;89-real;90;100-real;120-real
ARG JOBS=
RUN scripts/image/tree.sh /image

# --- runtime: the shared libraries that the programs load, without caches, logs and times that differ between builds ----
FROM ${RUNTIME_BASE} AS runtime
COPY --from=build /image/usr/share/doc/cj2k/packages /usr/share/doc/cj2k/packages
RUN export DEBIAN_FRONTEND=noninteractive && apt-get -qq update && \
    apt-get -qq install -y --no-install-recommends ca-certificates $(cat /usr/share/doc/cj2k/packages) && \
    apt-get clean && \
    rm -rf /var/lib/apt/lists/* /var/lib/dpkg/*-old /var/cache/debconf/*-old /etc/*- /tmp/* /var/tmp/* && \
    find /var/log /var/cache/apt /var/cache/ldconfig -type f -delete

# --- sbom: a list of all packages, made from those of the runtime stage ------------------------------------------------
FROM build AS sbom
COPY --from=runtime /var/lib/dpkg/status /runtime/var/lib/dpkg/status
COPY --from=runtime /usr/share/doc /runtime/usr/share/doc
COPY --from=runtime /usr/lib/os-release /runtime/usr/lib/os-release
ARG SOURCE_DATE_EPOCH=0
RUN python3 -B scripts/image/sbom.py /runtime /image

# --- the image ---------------------------------------------------------------------------------------------------------
FROM runtime
COPY --from=sbom /image/ /
# What NVIDIA's container toolkit mounts of the driver: CUDA for the encoder, video for NVDEC and NVENC.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,video,utility
# Fontconfig's cache, where /tmp can be written. The device that the health check encodes on.
ENV LANG=C.UTF-8 XDG_CACHE_HOME=/tmp CJ2K_HEALTH_DEVICE=auto
WORKDIR /data
# Nobody's uid. Any other one works, too (docker run --user).
USER 65532:65532
HEALTHCHECK --interval=60s --timeout=20s --start-period=5s --retries=3 \
  CMD ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=128x128 -frames:v 1 -c:v j2k_cuda -device "$CJ2K_HEALTH_DEVICE" -f null -
ENTRYPOINT ["ffmpeg"]
CMD ["-version"]
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="FFmpeg with j2k_cuda" \
      org.opencontainers.image.description="FFmpeg with the JPEG 2000 encoder j2k_cuda, and cj2k-check" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.licenses="BSD-2-Clause AND LGPL-3.0-or-later"
