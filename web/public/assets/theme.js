// Chooses light or dark before anything is drawn. It is a file because the daemon's policy runs nothing else.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("cmux.theme");
  } catch {
    // Without storage, the system decides.
  }
  const isDark =
    chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
})();
