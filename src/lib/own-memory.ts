import { isMarkedAsUntransferable } from 'node:worker_threads'

/**
 * The bytes in memory that may move to another thread: as they are where the whole buffer is theirs, else
 * a copy. Node keeps small buffers in a pool that they share, and marks it as untransferable.
 */
export function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes
  const isOwn =
    buffer instanceof ArrayBuffer && byteOffset === 0 && !isMarkedAsUntransferable(buffer)
  return isOwn ? new Uint8Array(buffer, 0, length) : new Uint8Array(bytes)
}
