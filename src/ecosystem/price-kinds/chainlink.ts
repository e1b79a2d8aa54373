import { from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { showAddress } from '#domain/address.ts'
import { PRICE_ONE } from '#domain/money.ts'
import { Type } from '#lib/type.ts'
import { argument, DecodeError } from '../event-arguments.ts'
import { contractFields, definePriceKind, resolveContract } from './price-kind.ts'

const ANSWER = eventFrom(
  'event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)',
)
const decimalsView = functionFrom('function decimals() view returns (uint8)')

/** A feed in US dollars with Chainlink's events, at the address of its aggregator. */
export const chainlink = definePriceKind({
  kind: 'chainlink',
  fields: {
    ...contractFields,
    decimals: Type.Integer({
      minimum: 0,
      maximum: 36,
      description: "the decimals of the feed's answers, usually 8",
    }),
  },
  resolve(context, { decimals, ...price }) {
    const contract = resolveContract(context, price)
    if (contract === undefined) return null
    return {
      kind: 'chainlink',
      ...contract,
      quote: null,
      event: ANSWER,
      facts: { decimals },
      read(args) {
        const answer = argument.amount(args, 'current')
        if (answer <= 0n)
          throw new DecodeError(`the feed reported ${answer}; a price must be positive`)
        return (answer * PRICE_ONE) / 10n ** BigInt(decimals)
      },
      async prove(ask) {
        const found = await ask(decimalsView)
        if (found === decimals) return undefined
        return {
          field: 'decimals',
          message: `the feed at ${showAddress(contract.address)} has ${found ?? 'no readable'} decimals, the file says ${decimals}; correct the decimals or the address`,
        }
      },
    }
  },
})
