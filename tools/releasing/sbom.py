"""The bill of materials of the wheels, in CycloneDX: the package itself, and what each extra asks for."""

from __future__ import annotations

import email
import hashlib
import uuid
import zipfile
from datetime import datetime, timezone
from pathlib import Path

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement

# Any fixed namespace will do: the same wheels have the same serial number.
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "tritonobs")


_NOT_FOR_USERS = ("dev", "release")
"""Extras of those who change or release the package: nothing that is installed has anything of them."""


def bill(wheels: list[Path], moment: int) -> str:
    """The bill as JSON; the same wheels and moment (in seconds since 1970) give the same text.

    What extras ask for has no version before it is installed: the property `required` says what is allowed.
    """
    with zipfile.ZipFile(wheels[0]) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    version = metadata["Version"]
    package = Component(
        type=ComponentType.LIBRARY,
        name="tritonobs",
        version=version,
        bom_ref=f"tritonobs@{version}",
        purl=PackageURL("pypi", name="tritonobs", version=version),
        description=metadata["Summary"],
        licenses=[DisjunctiveLicense(id=metadata["License-Expression"])],
        external_references=[_file(wheel) for wheel in wheels],
    )
    asked = [_component(name, said) for name, said in sorted(_asked(metadata).items())]
    bom = Bom(components=asked)
    bom.metadata.component = package
    bom.metadata.timestamp = datetime.fromtimestamp(moment, tz=timezone.utc)
    bom.register_dependency(package, asked)
    hashes = "".join(hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels)
    bom.serial_number = uuid.uuid5(_NAMESPACE, hashes)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _asked(metadata: email.message.Message) -> dict[str, list[str]]:
    """What the extras ask for, by package: each of its requirements, as they stand in the metadata."""
    found: dict[str, list[str]] = {}
    for text in metadata.get_all("Requires-Dist", []):
        name = Requirement(text).name.lower()
        if name != "tritonobs" and not any(f"extra == '{one}'" in text for one in _NOT_FOR_USERS):
            found.setdefault(name, []).append(text)
    return found


def _component(name: str, said: list[str]) -> Component:
    return Component(
        type=ComponentType.LIBRARY,
        name=name,
        bom_ref=name,
        purl=PackageURL("pypi", name=name),
        scope=ComponentScope.OPTIONAL,
        properties=[Property(name="tritonobs:required", value=one) for one in said],
    )


def _file(wheel: Path) -> ExternalReference:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(wheel.name),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
    )
