// Figures side by side on a wide screen: each spans as many low grid rows as its height needs.
const ROW_PX = 8;

const heights = new ResizeObserver((entries) => {
  for (const { target, borderBoxSize } of entries) {
    const [{ blockSize }] = borderBoxSize;
    target.style.gridRowEnd = `span ${Math.max(1, Math.ceil(blockSize / ROW_PX))}`;
  }
});

export function wireColumns() {
  for (const section of document.querySelectorAll(".figures > section")) heights.observe(section);
}
