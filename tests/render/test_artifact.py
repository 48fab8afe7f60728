"""Artifacts are written whole, inside their folder, and only when they changed."""

import pytest
import yaml

from tritonobs.errors import FileUnusable
from tritonobs.render.artifact import Artifact, write_artifacts, yaml_text


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", ""])
def test_a_path_outside_of_the_folder_is_refused(path):
    """No artifact can name a place outside of where it is written."""
    with pytest.raises(ValueError, match="not a path inside a folder"):
        Artifact(path=path, text="")


def test_writing_says_what_changed(tmp_path):
    """The second time nothing changed; then only what did."""
    first = (Artifact(path="a/b.txt", text="1"), Artifact(path="c.txt", text="2"))
    second = (Artifact(path="a/b.txt", text="1"), Artifact(path="c.txt", text="3"))

    changes = [write_artifacts(artifacts, tmp_path) for artifacts in (first, first, second)]

    assert changes == [(tmp_path / "a/b.txt", tmp_path / "c.txt"), (), (tmp_path / "c.txt",)]
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["b.txt", "c.txt"]


def test_a_folder_that_is_a_file_is_our_error(tmp_path):
    """The text names the file."""
    (tmp_path / "a").write_text("", encoding="utf-8")

    with pytest.raises(FileUnusable, match=r"b\.txt: cannot be written"):
        write_artifacts([Artifact(path="a/b.txt", text="")], tmp_path)


@pytest.mark.parametrize("text", ["yes", "1e3", "a: b\n- c\n", "'\"{}\\", "模型\u2028", "# no comment", ""])
def test_every_text_survives_yaml(text):
    """What goes in comes out, whatever YAML might take it for."""
    assert yaml.safe_load(yaml_text({text: [text]}, comment="one\ntwo")) == {text: [text]}
