import { isRefusal, type Refusal } from '#domain/refusal.ts'
import type { Connection, Engine } from '#store/engine.ts'

/** A refusal rolls back. */
export async function writeOrRefuse<T>(
  engine: Engine,
  work: (connection: Connection) => Promise<T | Refusal>,
): Promise<T | Refusal> {
  try {
    return await engine.write(async (connection) => {
      const outcome = await work(connection)
      if (isRefusal(outcome)) throw new Undo(outcome)
      return outcome
    })
  } catch (error) {
    if (error instanceof Undo) return error.refusal
    throw error
  }
}

class Undo extends Error {
  override readonly name = 'Undo'
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}
