/** What the page in the browser's tab is called, with how many things need a person. */

import { useEffect } from "react";

let page = "";
let count = 0;

function write(): void {
  const name = page === "" ? "cmux" : `${page} · cmux`;
  document.title = count > 0 ? `(${count}) ${name}` : name;
}

/** Names the page for as long as a component is there. */
export function useTitle(title: string): void {
  useEffect(() => {
    page = title;
    write();
  }, [title]);
}

/** Says how many things need a person. */
export function setTitleCount(value: number): void {
  count = value;
  write();
}
