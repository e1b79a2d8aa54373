import { readFile } from 'node:fs/promises'
import { parseHash } from '#domain/address.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { keySigner, type SettlingSigner } from '#x402/settling/settling-signer.ts'
import type { SettlingSetting } from './settings.ts'
import { SettingsError } from './settings-error.ts'

/**
 * Throws SettingsError without a private key. The key stays in the signer, so that nothing else can
 * be signed.
 */
export async function openSigner(
  settling: SettlingSetting,
  payment: Payment,
): Promise<SettlingSigner> {
  const name = 'SEXTON_SETTLING_KEY_FILE'
  const text = await readFile(settling.keyFile, 'utf8').catch((cause: unknown) => {
    throw new SettingsError(`${name}: the file cannot be read`, { cause })
  })
  const privateKey = parseHash(text.trim())
  if (privateKey === undefined)
    throw new SettingsError(`${name}: the file must contain a private key, 0x and 64 hex digits`)
  return keySigner({
    privateKey,
    chainId: payment.chain.id,
    asset: payment.asset,
    recipients: payment.payTo.map((each) => each.address),
  })
}
