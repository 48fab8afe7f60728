"""The kinds of objects that the double of the Kubernetes API serves."""

KINDS = {
    "deployments": ("apps/v1", "Deployment"),
    "statefulsets": ("apps/v1", "StatefulSet"),
    "inferenceservices": ("serving.kserve.io/v1beta1", "InferenceService"),
    "modeldeployments": ("example.com/v1", "ModelDeployment"),
    "pods": ("v1", "Pod"),
    "events": ("v1", "Event"),
    "leases": ("coordination.k8s.io/v1", "Lease"),
}
"""What the server serves: plural to group, version and kind."""
