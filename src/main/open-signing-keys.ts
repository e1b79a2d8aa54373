import { readFile, stat } from 'node:fs/promises'
import { parseSigningKeys, type SigningKeys } from '#lib/signing-keys.ts'
import { SettingsError } from './settings-error.ts'

/** Throws SettingsError with every mistake. */
export async function openSigningKeys(file: string): Promise<SigningKeys> {
  const [mode, pem] = await Promise.all([
    stat(file).then((found) => found.mode),
    readFile(file, 'utf8'),
  ]).catch((cause: unknown) => {
    throw new SettingsError(`SEXTON_SIGNING_KEYS: ${file} cannot be read`, { cause })
  })
  const keys = parseSigningKeys(pem)
  const mistakes = 'kid' in keys ? [] : [...keys]
  const isOpen = process.platform !== 'win32' && (mode & 0o007) !== 0
  if (isOpen) mistakes.unshift(`others can read or change it: run chmod 600 ${file}`)
  if ('kid' in keys && mistakes.length === 0) return keys
  throw new SettingsError(
    `SEXTON_SIGNING_KEYS: ${file}: ${mistakes.join('; ')}. "openssl genpkey -algorithm ed25519" writes a key`,
  )
}
