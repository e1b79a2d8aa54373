import { systemClock } from '#base/time.ts'
import { readConfig } from '#config.ts'
import type { Context } from '#context.ts'
import type { Engine } from '#db/engine.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'

const silent = () => undefined

export const SILENT: Context['logger'] = {
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
}

/** A context of the local ecosystem; a store that the test does not give fails when it is used. */
export function testContext(given: Partial<Context> = {}): Context {
  const accounts = given.accounts ?? missing('accounts')
  return {
    config: readConfig({}, { isTty: false }),
    ecosystem: given.ecosystem ?? parseEcosystem('local', localEcosystem),
    register: missing('register'),
    accounts,
    admissions: accounts,
    clock: systemClock,
    logger: SILENT,
    ...given,
  }
}

function missing(name: string): Engine {
  return new Proxy({} as Engine, {
    get() {
      throw new Error(`the test gave its context no ${name}`)
    },
  })
}
