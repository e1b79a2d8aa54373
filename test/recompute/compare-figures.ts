import assert from 'node:assert/strict'
import type { ExpectedBodies } from './recompute.ts'

/** What a reader gives of an answer; over HTTP, the parsed body. */
export interface ReadBody {
  readonly data: unknown
  readonly meta: { readonly totals?: unknown }
}

/** Answers a GET of a path with its query, by calling the routes or over HTTP. */
export type ReadApi = (path: string) => Promise<ReadBody>

/** Reads every expected path and fails on the first answer that differs in any figure. */
export async function compareFigures(read: ReadApi, expected: ExpectedBodies): Promise<void> {
  for (const [path, body] of expected) {
    const { data, meta } = await read(path)
    assert.deepEqual(data, body.data, path)
    if (body.totals !== undefined) assert.deepEqual(meta.totals, body.totals, `${path} totals`)
  }
}
