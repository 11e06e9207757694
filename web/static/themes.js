// The theme button: system → light → dark → system; charts repaint by listening to `themechange`.
const ORDER = ["system", "light", "dark"];

export function wireThemeToggle() {
  const button = document.querySelector("[data-theme-toggle]");
  const root = document.documentElement;
  const show = () => {
    const theme = root.dataset.theme ?? "system";
    button.textContent = `Theme: ${theme}`;
  };
  button.addEventListener("click", () => {
    const now = root.dataset.theme ?? "system";
    const next = ORDER[(ORDER.indexOf(now) + 1) % ORDER.length];
    if (next === "system") {
      delete root.dataset.theme;
      localStorage.removeItem("theme");
    } else {
      root.dataset.theme = next;
      localStorage.setItem("theme", next);
    }
    show();
    announce();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announce);
  button.hidden = false;
  show();
}

function announce() {
  document.dispatchEvent(new CustomEvent("themechange"));
}
