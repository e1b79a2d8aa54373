import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const JOURNAL = /^refunds-.+\.journal$/

/**
 * Refunds that wait in the folder are of calls after the backup, whose charges are gone with the
 * old accounts; those of the backup take their place. Returns what undoes both.
 */
export function exchangeRefunds(
  folder: string,
  { id, refunds }: { readonly id: string; readonly refunds: readonly string[] },
): { readonly setAside: readonly string[]; undo(): void } {
  const found = existsSync(folder) ? readdirSync(folder).filter((name) => JOURNAL.test(name)) : []
  const aside = (name: string) => join(folder, `${name}.before-restore-${id}`)
  for (const name of found) renameSync(join(folder, name), aside(name))
  const restored = join(folder, `refunds-restored-${id}.journal`)
  if (refunds.length > 0)
    writeFileSync(restored, `${refunds.join('\n')}\n`, { mode: 0o600, flush: true })
  return {
    setAside: found.map(aside),
    undo() {
      rmSync(restored, { force: true })
      for (const name of found) renameSync(aside(name), join(folder, name))
    },
  }
}
