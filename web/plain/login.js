// Sends the password as JSON, which no page of another origin can, and says what came of it.
const said = document.getElementById("said");

// Returns the address on this origin that was asked for before the password was; the first page if there is none.
// Whoever made the link to this page may have named any.
const next = () => {
  const first = new URL("/", location.origin);
  const named = new URLSearchParams(location.search).get("next") ?? "/";
  if (!named.startsWith("/") || !URL.canParse(named, first)) return first.href;
  const place = new URL(named, first);
  return place.origin === first.origin && place.pathname !== "/login" ? place.href : first.href;
};

document.getElementById("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  said.textContent = "";
  const password = document.getElementById("password").value;
  try {
    const answer = await fetch("/api/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ password }),
    });
    if (answer.ok) {
      location.replace(next());
    } else {
      said.textContent = (await answer.json()).detail;
    }
  } catch {
    said.textContent = "cmux does not answer. Is it still running?";
  }
});
