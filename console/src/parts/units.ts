const DECIMALS = 18

/** A sum of exact amounts, each perhaps with a minus sign, as one more. */
export function sumOf(amounts: readonly string[]): string {
  const sum = amounts.reduce((all, each) => all + toUnits(each), 0n)
  const digits = (sum < 0n ? -sum : sum).toString().padStart(DECIMALS + 1, '0')
  const text = `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`.replace(/\.?0+$/, '')
  return sum < 0n ? `-${text}` : text
}

function toUnits(text: string): bigint {
  const [units = '0', rest = ''] = text.replace(/^-+/, '').split('.')
  const size = BigInt(units + rest.slice(0, DECIMALS).padEnd(DECIMALS, '0'))
  return text.startsWith('-') ? -size : size
}
