/** The colours of a terminal, light and dark, which go with those of the page. */

import type { ITheme } from "@xterm/xterm";

const DARK: ITheme = {
  background: "#1c1c1a",
  foreground: "#e6e4de",
  cursor: "#6cc2a8",
  cursorAccent: "#1c1c1a",
  selectionBackground: "#3a5d52",
  scrollbarSliderBackground: "#45433f88",
  scrollbarSliderHoverBackground: "#45433fcc",
  scrollbarSliderActiveBackground: "#45433f",
  black: "#2c2b29",
  red: "#f48e85",
  green: "#8fc79f",
  yellow: "#eab15a",
  blue: "#86aff8",
  magenta: "#bd9ef2",
  cyan: "#6cc2a8",
  white: "#d6d3cb",
  brightBlack: "#969188",
  brightRed: "#ffada6",
  brightGreen: "#aee0ba",
  brightYellow: "#f6cd8c",
  brightBlue: "#aecafc",
  brightMagenta: "#d6c2f8",
  brightCyan: "#97dcc7",
  brightWhite: "#f7f6f2",
};

const LIGHT: ITheme = {
  background: "#ffffff",
  foreground: "#1e1d1a",
  cursor: "#2a6b5a",
  cursorAccent: "#ffffff",
  selectionBackground: "#c5ddd4",
  scrollbarSliderBackground: "#cfcbc388",
  scrollbarSliderHoverBackground: "#cfcbc3cc",
  scrollbarSliderActiveBackground: "#cfcbc3",
  black: "#1e1d1a",
  red: "#b3261e",
  green: "#2d6a3c",
  yellow: "#8a4f00",
  blue: "#2259b8",
  magenta: "#6a3fb5",
  cyan: "#1d6f67",
  white: "#8b877f",
  brightBlack: "#65615a",
  brightRed: "#c43a31",
  brightGreen: "#37804a",
  brightYellow: "#9c6000",
  brightBlue: "#2f6bd3",
  brightMagenta: "#7d52ca",
  brightCyan: "#24837a",
  brightWhite: "#716d65",
};

/** Returns the colours that go with the page. */
export function paletteOf(shade: "light" | "dark"): ITheme {
  switch (shade) {
    case "light":
      return LIGHT;
    case "dark":
      return DARK;
  }
}
