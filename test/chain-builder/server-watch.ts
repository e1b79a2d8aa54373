/** Told when the server works on an answer and when it rests; a server that waits rests. */
export interface ServerWatch {
  busy(): void
  idle(): void
}
