import type { Outgoing } from './exchange.ts'
import type { Stamp } from './head-writer.ts'

/** Where the answer to one request goes. */
export interface Reply {
  /** Address of the peer of the TCP connection, which may be a proxy. */
  readonly socketAddress: string
  /** Whether the connection ends with this answer. */
  isLast(): boolean
  /** Aborts when the client goes away. */
  goneSignal(): AbortSignal
  /** Writes the answer; throws before anything is written when a header has a value that it must not have. */
  send(outgoing: Outgoing, stamp: Stamp): void
  /** Ends the connection without an answer. */
  destroy(): void
}
