import { type Ask, AskRefused } from '#route/ask-routes.ts'

export function isNotReady(error: unknown): boolean {
  return error instanceof AskRefused && error.refusal.code === 'data_not_ready'
}

/** Returns the last answer of a dataset that is being read again, so that other parts go on. */
export function lastingAsk(ask: Ask): Ask {
  const known = new Map<string, unknown>()
  return async (operationId, query = {}) => {
    const question = JSON.stringify([operationId, query])
    try {
      const body = await ask(operationId, query)
      known.set(question, body)
      return body
    } catch (error) {
      if (isNotReady(error) && known.has(question)) return known.get(question)
      throw error
    }
  }
}

/** The rows of a list; none before its dataset is read for the first time. */
export async function rowsOf<Row>(
  ask: Ask,
  operationId: string,
  query: Readonly<Record<string, string>>,
): Promise<readonly Row[]> {
  try {
    return ((await ask(operationId, query)) as { readonly data: readonly Row[] }).data
  } catch (error) {
    if (isNotReady(error)) return []
    throw error
  }
}
