"""A ring sums what four GPUs have, piece by piece: first every piece is summed somewhere, then the sums go round."""

from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Drag, Reading
from explorable.figures.sketch import Sketch
from ironlaw.parallel import all_reduce_factor

GPUS = 4
LAST = 2 * (GPUS - 1)
LEFT, SIDE, TOP, ROW = 74, 84, 20, 46

CONTROLS = (Control("step", "Step", range(LAST + 1), ("start", *(str(step) for step in range(1, LAST + 1))), 2),)
DRAG = Drag("step", LEFT, LEFT + GPUS * SIDE)


def after(steps: int) -> list[list[set[int]]]:
    """Whose numbers each GPU's copy of each piece contains, after so many steps; pieces go from a GPU to the next."""
    held = [[{gpu} for _ in range(GPUS)] for gpu in range(GPUS)]
    for step in range(steps):
        sent = [(gpu, sends(gpu, step), set(held[gpu][sends(gpu, step)])) for gpu in range(GPUS)]
        for gpu, piece, content in sent:
            other = (gpu + 1) % GPUS
            held[other][piece] = held[other][piece] | content if step < GPUS - 1 else content
    return held


def sends(gpu: int, step: int) -> int:
    """The piece that a GPU sends in a step: in the first half what it has just summed, then what is complete."""
    return (gpu - step) % GPUS if step < GPUS - 1 else (gpu + 1 - (step - GPUS + 1)) % GPUS


def draw(step: int) -> Drawing:
    """A row for each GPU, a box for each piece: a bar for everybody whose numbers it has."""
    held = after(step)
    sheet = Sketch(TOP + GPUS * ROW + 36)
    for piece in range(GPUS):
        sheet.text(LEFT + (piece + 0.5) * SIDE, 9, f"piece {piece + 1}", anchor="middle", size=12.8, ink="muted")
    arrived = {((gpu + 1) % GPUS, sends(gpu, step - 1)) for gpu in range(GPUS)} if step else set()
    for gpu in range(GPUS):
        y = TOP + gpu * ROW
        sheet.text(LEFT - 10, y + ROW / 2 - 3, f"GPU {gpu + 1}", anchor="end")
        for piece in range(GPUS):
            x, content = LEFT + piece * SIDE, held[gpu][piece]
            new = (gpu, piece) in arrived
            sheet.rect(
                x + 2, y, SIDE - 4, ROW - 6, fill="bg", line="fg" if new else "border", thick=2 if new else 1, corner=3
            )
            for place, whose in enumerate(sorted(content)):
                full = len(content) == GPUS
                sheet.rect(
                    x + 9 + 17 * place, y + 7, 14, ROW - 20, fill="compute" if full else "memory", faint=0.5, corner=2
                )
                sheet.text(x + 16 + 17 * place, y + ROW / 2 - 3, str(whose + 1), anchor="middle", size=12.8)
    y = TOP + GPUS * ROW + 14
    if step:
        does = "adds" if step < GPUS else "keeps"
        words = f"Each {does} what comes from above; framed: new"
    else:
        words = "Each GPU has its own numbers for every piece"
    sheet.text(14, y, words, size=12.8, ink="muted")
    done = sum(len(content) == GPUS for row in held for content in row)
    assert step < LAST or done == GPUS * GPUS, "the ring ends with every sum everywhere"
    sent = step / GPUS
    assert step < LAST or sent == all_reduce_factor(GPUS), "the count keeps the formula"
    return Drawing(
        sheet,
        f"Four GPUs in a ring after {step} of {LAST} steps. {done} of {GPUS * GPUS} pieces hold the sum of all "
        f"four. {words}.",
        (
            Reading("Each GPU has sent", f"{sent:g}", "of its buffer"),
            Reading("Pieces that are complete", f"{done}", f"of {GPUS * GPUS}"),
        ),
    )
