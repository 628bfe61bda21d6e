/** Goes to another page from where there is no component: the palette, notifications, shortcuts. */

import type { NavigateOptions, RegisteredRouter } from "@tanstack/react-router";

export type Destination = NavigateOptions<RegisteredRouter>;

let navigate: (to: Destination) => void = () => {};

/** Says how to go anywhere. The app does so once. */
export function setNavigate(how: (to: Destination) => void): void {
  navigate = how;
}

export function go(to: Destination): void {
  navigate(to);
}
