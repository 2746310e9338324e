"""What computes besides the processor, and whether llama.cpp was built to use it."""

from __future__ import annotations

import platform
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from decoding_core.foreign_text import one_line
from models.running.settings import EngineSettings

_NVIDIA_CARDS = Path("/proc/driver/nvidia/gpus")
"""Where the driver of Linux names them."""
_MOST_CARDS = 64


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A kind of device that llama.cpp can compute on."""

    name: str
    """In words, such as `NVIDIA (NVIDIA L4)`."""
    library: str
    """What llama.cpp uses it by: CUDA or Metal."""
    build_option: str
    """Of llama.cpp's build."""


def accelerators() -> list[Accelerator]:
    """Those that this machine seems to have; no program is started to ask."""
    found = []
    cards = _nvidia_cards()
    if cards or shutil.which("nvidia-smi"):
        named = ", ".join(cards) or "nvidia-smi is there, and names no card"
        found.append(Accelerator(f"NVIDIA ({named})", "CUDA", "-DGGML_CUDA=on"))
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        found.append(Accelerator("Apple silicon", "Metal", "-DGGML_METAL=on"))
    return found


def layers_on_accelerator(settings: EngineSettings) -> int:
    """How many layers llama.cpp is told to run there, -1 for all: as the settings say;
    without a word all of them where the build finds a device, else none. None also
    where figures must be the same bits, which only a CPU gives."""
    if settings.gpu_layers is not None:
        return settings.gpu_layers
    if settings.exact:
        return 0
    return -1 if build_finds_device() else 0


def build_finds_device() -> bool:
    """Whether llama.cpp was built with a library for a device, and sees one."""
    from models.engines.llama_cpp import load_library

    return bool(load_library().llama_supports_gpu_offload())


def how_to_rebuild(accelerator: Accelerator) -> str:
    """The command that compiles llama-cpp-python for a device, in the version that is
    installed and for the Python that runs now."""
    from models.engines.llama_cpp import load_library

    package = "llama-cpp-python"
    words = ["-m", "pip", "install", "--force-reinstall", "--no-cache-dir", "--no-deps"]
    words += ["--no-binary", package, f"{package}=={load_library().__version__}"]
    command = shlex.join([sys.executable or "python", *words])
    return f'CMAKE_ARGS="{accelerator.build_option}" {command}'


def describe_accelerators(settings: EngineSettings) -> str:
    """A sentence for a person: what there is, whether it is used, and what to do."""
    found, layers = accelerators(), layers_on_accelerator(settings)
    names = " and ".join(one.name for one in found)
    if build_finds_device():
        used = "no layer" if layers == 0 else f"{layers} layers"
        used = "all layers" if layers < 0 else used
        why = "" if settings.gpu_layers is None else ", as gpu_layers says"
        return f"{names or 'a device that llama.cpp finds'}: {used} run there{why}"
    if not found:
        return "none found (no nvidia-smi, no Apple silicon): models run on the CPU"
    return (
        f"{names} is here, and llama.cpp was built without {found[0].library}, so all "
        "layers run on the CPU; rebuilt, all could run there. How much faster that is "
        "was not measured by this project: 'specsteer models check' before and after "
        f"tells. To rebuild: {how_to_rebuild(found[0])}"
    )


def _nvidia_cards() -> list[str]:
    """The names that the driver gives; empty where it does not say."""
    cards = []
    try:
        for path in sorted(_NVIDIA_CARDS.iterdir())[:_MOST_CARDS]:
            with (path / "information").open(
                encoding="utf-8", errors="replace"
            ) as file:
                for line in file.read(4096).splitlines():
                    key, _, value = line.partition(":")
                    if key.strip() == "Model":
                        cards.append(one_line(value.strip())[:80])
    except OSError:
        return cards
    return cards
