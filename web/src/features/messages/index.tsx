/** Mail: all conversations, and the inbox of the person. */

export { InboxPage } from "./inbox-page";
export { MessagesPage } from "./messages-page";
