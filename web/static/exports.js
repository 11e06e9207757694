// "Save PNG": the drawing of the server, which "Save SVG" links to, as an image of twice its size.

const SCALE = 2;

export function wireExports() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-save]");
    if (!button) return;
    button.disabled = true;
    try {
      await save(document.getElementById(button.dataset.save));
    } catch {
      button.textContent = "PNG not available";
    }
    button.disabled = false;
  });
}

async function save(link) {
  const drawing = new Image();
  drawing.src = link.href;
  await drawing.decode();
  const canvas = document.createElement("canvas");
  canvas.width = SCALE * drawing.naturalWidth;
  canvas.height = SCALE * drawing.naturalHeight;
  canvas.getContext("2d").drawImage(drawing, 0, 0, canvas.width, canvas.height);
  const picture = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  const file = document.createElement("a");
  file.href = URL.createObjectURL(picture);
  file.download = link.download.replace(/svg$/, "png");
  file.click();
  URL.revokeObjectURL(file.href);
}
