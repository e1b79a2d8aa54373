import type { CallOptions, Client } from './call.ts'
import type { Reply } from './reply.ts'

interface Paged {
  readonly page: { readonly nextCursor: string | null }
}

type Operation<In, Data, Meta extends Paged> = (
  client: Client,
  input: In,
  options?: CallOptions,
) => Promise<Reply<Data, Meta>>

/** One row of a list, or one claim of a wallet. */
type RowOf<Data> = Data extends readonly (infer Row)[]
  ? Row
  : Data extends { readonly claims: readonly (infer Row)[] }
    ? Row
    : never

/** Page after page, each a call, newest first: `for await (const reply of pages(listBurns, client, {}))`. */
export async function* pages<In extends object, Data, Meta extends Paged>(
  operation: Operation<In, Data, Meta>,
  client: Client,
  input: In,
  options?: CallOptions,
): AsyncGenerator<Reply<Data, Meta>, void> {
  const asked = new Set<string>()
  let next = input
  for (;;) {
    const reply = await operation(client, next, options)
    yield reply
    const cursor = reply.meta.page?.nextCursor
    // Each page is paid for; a server that gives a cursor twice would be asked for ever.
    if (!cursor || asked.has(cursor)) return
    asked.add(cursor)
    next = { ...input, cursor }
  }
}

/** Row after row over all pages; a larger `limit` costs fewer calls. */
export async function* rows<In extends object, Data, Meta extends Paged>(
  operation: Operation<In, Data, Meta>,
  client: Client,
  input: In,
  options?: CallOptions,
): AsyncGenerator<RowOf<Data>, void> {
  for await (const { data } of pages(operation, client, input, options)) {
    const list = Array.isArray(data) ? data : (data as { readonly claims?: unknown }).claims
    yield* list as readonly RowOf<Data>[]
  }
}
