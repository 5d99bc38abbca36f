"""ImageNet (ILSVRC 2012) as class folders: all 1,000 classes, or the paper's 100."""

from importlib import resources

from sag_vicreg.data.sources.folders import class_folders, split_folder
from sag_vicreg.data.sources.records import Records, Request


def imagenet100_wnids() -> tuple[str, ...]:
    """List the paper's 100 classes, in its order (appendix on ImageNet classes)."""
    return tuple(
        (resources.files("sag_vicreg.data.sources") / "imagenet100.txt").read_text().split()
    )


def imagenet1k_wnids() -> tuple[str, ...]:
    """List all 1,000 classes, in label order."""
    from timm.data.imagenet_info import ImageNetInfo

    info = ImageNetInfo("imagenet-1k")
    return tuple(info.index_to_label_name(index) for index in range(1000))


def load_imagenet100(request: Request) -> Records:
    """Load the paper's 100 classes from a folder that holds at least those."""
    return _load(request, imagenet100_wnids())


def load_imagenet1k(request: Request) -> Records:
    """Load all 1,000 classes."""
    return _load(request, imagenet1k_wnids())


def load_imagenet(request: Request) -> Records:
    """Load the paper's 100 classes where the folder holds exactly those, else all 1,000."""
    found = {entry.name for entry in split_folder(request).iterdir() if entry.is_dir()}
    only_100 = found == set(imagenet100_wnids())
    return load_imagenet100(request) if only_100 else load_imagenet1k(request)


def _load(request: Request, wnids: tuple[str, ...]) -> Records:
    return class_folders(split_folder(request), classes=wnids, prefix=request.path)
