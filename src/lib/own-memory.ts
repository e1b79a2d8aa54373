import { isMarkedAsUntransferable } from 'node:worker_threads'

/** Copies unless the bytes fill their buffer: Node's pool cannot be transferred. */
export function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes
  const isOwn =
    buffer instanceof ArrayBuffer && byteOffset === 0 && !isMarkedAsUntransferable(buffer)
  return isOwn ? new Uint8Array(buffer, 0, length) : new Uint8Array(bytes)
}
