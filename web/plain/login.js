// Sends the password as JSON, which no page of another origin can, and says what came of it.
const said = document.getElementById("said");

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
      location.replace("/");
    } else {
      said.textContent = (await answer.json()).detail;
    }
  } catch {
    said.textContent = "cmux does not answer. Is it still running?";
  }
});
