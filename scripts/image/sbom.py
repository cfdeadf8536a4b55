#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""sbom.py RUNTIME IMAGE: writes IMAGE/usr/share/doc/cj2k/sbom.spdx.json, the list of all that the image has (SPDX 2.3).

RUNTIME has dpkg's status and the copyright files of the runtime stage, IMAGE what the Dockerfile adds to it. Licences come from
the copyright files: from their License fields where they are machine-readable, else from the licences that they name. A licence
without an SPDX identifier gets a LicenseRef, which names the copyright file.
"""

import datetime
import json
import os
import pathlib
import re
import sys
import uuid

# Debian's short names (DEP-5) without version suffixes, and SPDX's identifiers.
SPDX = {
    "apache-2.0": "Apache-2.0", "artistic": "Artistic-1.0-Perl", "artistic-2.0": "Artistic-2.0", "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause", "bsd-4-clause": "BSD-4-Clause", "bsl-1.0": "BSL-1.0", "cc0": "CC0-1.0",
    "cc0-1.0": "CC0-1.0", "expat": "MIT", "mit": "MIT", "ftl": "FTL", "isc": "ISC", "ijg": "IJG", "mpl-2.0": "MPL-2.0",
    "mpl-1.1": "MPL-1.1", "ofl-1.1": "OFL-1.1", "openssl": "OpenSSL", "zlib": "Zlib", "x11": "X11", "unicode": "Unicode-DFS-2016",
    "curl": "curl", "ntp": "NTP", "psf-2": "PSF-2.0", "unlicense": "Unlicense", "wtfpl": "WTFPL", "bzip2": "bzip2-1.0.6",
    "apache-2.0 with llvm-exception": "Apache-2.0 WITH LLVM-exception", "hpnd": "HPND", "libpng": "Libpng", "tcl": "TCL",
}
GNU = re.compile(r"^(l|a)?gpl(?:v|-)?(\d(?:\.\d)?)?(\+|-or-later|-only)?$")
GFDL = re.compile(r"^gfdl(?:-niv)?-(\d\.\d)(\+)?$")
COMMON = re.compile(r"/usr/share/common-licenses/([A-Za-z]+(?:-[0-9.]*[0-9])?)")
PHRASES = (
    ("Permission is hereby granted, free of charge", "MIT"),
    ("Redistribution and use in source and binary forms", "BSD-3-Clause"),
    ("This software is provided 'as-is'", "Zlib"),
    ("Apache License, Version 2.0", "Apache-2.0"),
    ("public domain", "LicenseRef-public-domain"),
)


def spdx_id(name):
    """The identifier of one of Debian's short names."""
    key = name.strip().lower()
    if key in SPDX:
        return SPDX[key]
    if gnu := GNU.match(key):
        kind, version, later = {"l": "LGPL", "a": "AGPL"}.get(gnu[1], "GPL"), gnu[2] or "1", gnu[3] or ""
        version = version if "." in version else version + ".0"
        if kind == "LGPL" and version == "1.0":
            version = "2.0"
        return f"{kind}-{version}-{'or-later' if later in ('+', '-or-later') else 'only'}"
    if gfdl := GFDL.match(key):
        return f"GFDL-{gfdl[1]}-{'or-later' if gfdl[2] else 'only'}"
    return "LicenseRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", name.strip()).strip("-")


def expression(licence):
    """The SPDX expression of a License field: names joined by "and", "or" and commas."""
    licence = re.sub(r"\s+with\s+.*?(?=\s+(?:and|or)\s|,|$)", "", licence, flags=re.I)  # exceptions allow more
    alternatives = []
    for alternative in re.split(r"\s+or\s+|\s*\|\s*", licence.replace(",", " "), flags=re.I):
        names = [spdx_id(name) for name in re.split(r"\s+and(?:/or)?\s+", alternative, flags=re.I) if name.strip()]
        if names:
            alternatives.append(" AND ".join(dict.fromkeys(names)))
    if len(alternatives) == 1:
        return alternatives[0]
    return "(" + " OR ".join(f"({a})" if " AND " in a else a for a in dict.fromkeys(alternatives)) + ")"


def declared_licence(package, text):
    """The SPDX expression of a copyright file."""
    if re.search(r"^Format(-Specification)?:", text, re.M | re.I):
        found = [expression(match) for match in re.findall(r"^License:[ \t]*(\S.*)$", text, re.M)]
    else:
        found = [spdx_id(re.sub(r"^([A-Z]?GPL)$", r"\1-1+", name)) for name in COMMON.findall(text)]
        found = found or [licence for phrase, licence in PHRASES if phrase.lower() in " ".join(text.lower().split())]
    return " AND ".join(sorted(dict.fromkeys(found))) or f"LicenseRef-copyright-of-{package}"


def dpkg_packages(runtime):
    """Yields the fields of each installed package."""
    for paragraph in (runtime / "var/lib/dpkg/status").read_text(encoding="utf-8").split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.M))
        if fields.get("Status") == "install ok installed":
            yield fields


def package(name, version, licence, **more):
    return {"name": name, "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", name), "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}


def own_packages(image):
    """What the Dockerfile built."""
    source = (image / "usr/share/doc/ffmpeg-j2k_cuda/SOURCE").read_text(encoding="utf-8")
    version = re.search(r"^ffmpeg version (\S+)", source, re.M)[1]
    licence = "GPL-3.0-or-later" if "--enable-gpl" in source else "LGPL-3.0-or-later"
    checksum = re.search(r"^sha256: ([0-9a-f]{64})$", source, re.M)[1]
    yield package("ffmpeg", version, licence, checksums=[{"algorithm": "SHA256", "checksumValue": checksum}],
                  comment="Patched; the patches are in /usr/share/doc/ffmpeg-j2k_cuda. The checksum is the tarball's.")
    header = (pathlib.Path(__file__).parents[2] / "libcj2k/include/cj2k.h").read_text(encoding="utf-8")
    numbers = re.findall(r"^#define CJ2K_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M)
    yield package("libcj2k", ".".join(numbers), "BSD-2-Clause", comment="Linked into ffmpeg; with the program cj2k-check.")
    if "--enable-ffnvcodec" in source:
        yield package("nv-codec-headers", "12.1", "MIT", comment="Headers, compiled into ffmpeg.")


def debian_packages(runtime, system):
    for fields in dpkg_packages(runtime):
        name = fields["Package"]
        copyright_file = runtime / "usr/share/doc" / name / "copyright"
        text = copyright_file.read_text(encoding="utf-8", errors="replace") if copyright_file.exists() else ""
        purl = f"pkg:deb/{system}/{name}@{fields['Version'].replace('+', '%2B').replace(':', '%3A')}?arch={fields['Architecture']}"
        yield package(name, fields["Version"], declared_licence(name, text),
                      externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}])


def document(runtime, image):
    system = re.search(r"^ID=\"?(\w+)", (runtime / "usr/lib/os-release").read_text(encoding="utf-8"), re.M)[1]
    packages = [*own_packages(image), *sorted(debian_packages(runtime, system), key=lambda p: p["name"])]
    named = sorted({ref for p in packages for ref in re.findall(r"LicenseRef-[A-Za-z0-9.-]+", p["licenseDeclared"])})
    owner = {ref: p["name"] for p in reversed(packages) for ref in named if ref in p["licenseDeclared"]}
    created = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or 0), datetime.timezone.utc)
    content = json.dumps(packages, sort_keys=True)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "cj2k-image",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scripts/image/sbom.py"]},
        "packages": packages,
        "hasExtractedLicensingInfos": [
            {"licenseId": ref, "extractedText": f"See /usr/share/doc/{owner[ref]}/copyright in the image."} for ref in named],
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                           "relatedSpdxElement": p["SPDXID"]} for p in packages],
    }


def main(runtime, image):
    out = image / "usr/share/doc/cj2k/sbom.spdx.json"
    out.write_text(json.dumps(document(runtime, image), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
