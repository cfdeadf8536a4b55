# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The types of the parameters; made by scripts/make_python_types.py."""

from typing import Any, Literal, Optional, Sequence, SupportsFloat, SupportsIndex, Tuple, TypedDict, Union

_Int = Optional[SupportsIndex]
_Float = Union[None, SupportsFloat, SupportsIndex]
_Size = Union[None, str, SupportsIndex, Sequence[SupportsIndex]]
_List = Union[None, str, SupportsFloat, SupportsIndex, Sequence[Any]]
_Flags = Union[None, str, SupportsIndex, Sequence[str]]
_Ratio = Union[None, str, SupportsFloat, SupportsIndex, Tuple[SupportsIndex, SupportsIndex]]


class ParamValues(TypedDict, total=False):
    """Parameters of the library, as encode takes them."""

    image_offset: _Size
    tile: _Size
    tile_offset: _Size
    num_components: _Int
    depth: _List
    is_signed: _List
    dx: _List
    dy: _List
    colorspace: Optional[Literal["auto", "srgb", "gray", "sycc", "xyz"]]
    alpha: _Int
    source_depth: _List
    low_bits: Optional[Literal["refuse", "round", "cut"]]
    xyz: Optional[Literal["off", "rec709", "p3d65", "p3dci", "rec2020"]]
    xyz_gamma: _Float
    lossless: _Int
    wavelet: Optional[Literal["auto", "9/7", "5/3"]]
    mct: Optional[Literal["auto", "off", "on"]]
    levels: Union[_Int, Literal["auto"]]
    guard_bits: Union[_Int, Literal["auto"]]
    quant_step: _Float
    roi: _List
    coder: Optional[Literal["auto", "ebcot", "ht"]]
    ht_passes: Optional[Literal["all", "cleanup"]]
    frame_steps: Union[_Int, Literal["auto", "first"]]
    cblk: _Size
    cblk_style: _Flags
    precincts: _List
    progression: Optional[Literal["auto", "lrcp", "rlcp", "rpcl", "pcrl", "cprl"]]
    layers: _Int
    layer_rates: _List
    layer_psnr: _List
    poc: _List
    tile_parts: Optional[Literal["auto", "none", "resolution", "component"]]
    sop: _Int
    eph: _Int
    tlm: _Int
    plt: _Int
    comment: Optional[str]
    format: Optional[Literal["j2k", "jp2"]]
    primaries: Optional[Literal["rec709", "rec2020", "p3d65", "p3dci", "rec601_625", "rec601_525"]]
    transfer: Optional[Literal["srgb", "linear", "gamma22", "gamma24", "gamma26", "gamma28", "pq", "hlg"]]
    resolution_x: _Float
    resolution_y: _Float
    profile: Optional[Literal["none", "profile0", "profile1", "cinema2k", "cinema4k", "imf_2k", "imf_4k", "imf_8k",
        "imf_2k_r", "imf_4k_r", "imf_8k_r", "broadcast_single", "broadcast_multi", "broadcast_multi_r", "imf_ht",
        "imf_ht_r", "dicom_ht", "dicom_ht_r", "dicom_ht_rpcl"]]
    main_level: Union[_Int, Literal["auto"]]
    sub_level: Union[_Int, Literal["auto"]]
    frame_rate: _Ratio
    cinema_rate: Optional[Literal["safe", "full", "hfr"]]
    profile_strict: _Int
    target_bytes: _Int
    max_frame_bytes: _Int
    max_component_bytes: _Int
    min_frame_bytes: _Int
    quality: _Float
    target_psnr: _Float
    qfactor: _Int
    tune: Optional[Literal["mse", "visual"]]
    visual_strength: _Float
    visual_distance: _Float
    stop: Optional[Literal["none", "exact", "pst", "psb", "bpi"]]
    effort: _Int
    stop_margin: _Int
    threads: _Int
    gop: _Int
    async_depth: _Int
    tier1: Optional[Literal["auto", "classic", "cibo", "fused"]]
    measure_mse: _Int
    verify: _Int
    device: Optional[str]


class EncoderValues(ParamValues, total=False):
    """Parameters that Encoder and Film take."""

    subsampling: Any
    colour: Optional[str]
    icc_profile: Optional[bytes]
    jp2_boxes: Optional[bytes]
    cuda_context: int
    cuda_stream: int
