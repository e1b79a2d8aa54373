import { Type } from 'typebox'
import { type Address, parseAddress } from '#domain/address.ts'
import { PUBLIC_ID } from '#domain/caller.ts'
import { type Parameter, parsed } from '#route/route.ts'
import { ACTIONS, type Action } from './message.ts'

export const publicIdInPath: Parameter<string> = {
  in: 'path',
  description: 'The key: its 8 hex characters.',
  schema: Type.String({ pattern: PUBLIC_ID.source }),
  example: '0a1b2c3d',
  parse: (raw) =>
    raw !== undefined && PUBLIC_ID.test(raw)
      ? parsed(raw, raw)
      : { ok: false, reason: 'must be 8 lower-case hex characters' },
}

export function publicIdInQuery(description: string): Parameter<string | undefined> {
  return {
    ...publicIdInPath,
    in: 'query',
    description,
    parse: (raw) => (raw === undefined ? parsed(undefined, null) : publicIdInPath.parse(raw)),
  }
}

export const walletInQuery: Parameter<Address> = {
  in: 'query',
  description: 'The wallet that will sign. Mixed case must carry the right EIP-55 checksum.',
  schema: Type.String(),
  example: '0x52908400098527886E0F7030069857D2E4169EE7',
  parse(raw) {
    const wallet = parseAddress(raw ?? '')
    if (wallet !== undefined) return parsed(wallet, wallet)
    return {
      ok: false,
      code: 'invalid_address',
      reason: 'must be an address: 0x and 40 hex digits',
    }
  },
}

export const actionInQuery: Parameter<Action> = {
  in: 'query',
  description: 'The action that the signature allows.',
  schema: Type.String({ enum: [...ACTIONS], default: 'mint' }),
  example: 'mint',
  parse(raw = 'mint') {
    const action = ACTIONS.find((each) => each === raw)
    if (action !== undefined) return parsed(action, action)
    return { ok: false, reason: `must be one of ${ACTIONS.join(', ')}`, allowed: ACTIONS }
  },
}
