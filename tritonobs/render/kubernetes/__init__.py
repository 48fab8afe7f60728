"""A fleet as Kubernetes objects: one list of them, written as a kustomize base and as a Helm chart."""
