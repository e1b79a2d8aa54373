import type { Address } from '#domain/address.ts'
import type { Connection } from '#store/engine.ts'
import type { Intent } from './intent.ts'
import { countOpenBefore, findIntent, insertIntent } from './intent-store.ts'
import { lockSettler } from './settler-store.ts'

/** Nodes' default of pending transactions per account. */
const OPEN_MAX = 64

/**
 * `busy`: the payer has another open payment (one balance could back many that fail at our cost),
 * or too many are open. Nothing is stored.
 */
export async function reserveIntent(
  connection: Connection,
  input: { readonly intent: Intent; readonly settler: Address },
): Promise<'reserved' | 'used' | 'busy'> {
  const { intent, settler } = input
  const { chainId, asset, authorization } = intent
  // Serialises reservations across replicas.
  await lockSettler(connection, { chainId, settler })
  const { from, nonce } = authorization
  if ((await findIntent(connection, { chainId, asset, from, nonce })) !== undefined) return 'used'
  const open = await countOpenBefore(connection, intent)
  if (open.ofPayer > 0 || open.all >= OPEN_MAX) return 'busy'
  return (await insertIntent(connection, intent)) ? 'reserved' : 'used'
}
