// Light or dark: as chosen before, else as the system has it. Runs before anything is drawn.
(function () {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try { chosen = localStorage.getItem("entnet-theme"); } catch { /* storage may be closed to us */ }
  const apply = () => { document.documentElement.dataset.theme = chosen || (system.matches ? "dark" : "light"); };
  system.addEventListener("change", apply);
  apply();
  window.entnetTheme = function toggle() {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("entnet-theme", chosen); } catch { /* stays for this visit */ }
    apply();
  };
})();
