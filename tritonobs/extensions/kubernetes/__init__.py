"""A fleet as Kubernetes objects: one list of them, written as a kustomize base and as a Helm chart."""

from tritonobs.registry import Extension, Target

EXTENSION = Extension(
    summary="a fleet as Kubernetes objects",
    targets=(
        Target(
            name="kubernetes",
            help="a kustomize base and a Helm chart",
            at="tritonobs.extensions.kubernetes.build:artifacts",
        ),
    ),
    artifacts="tritonobs.extensions.kubernetes.build:objects",
)
