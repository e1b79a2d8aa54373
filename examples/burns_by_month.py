"""What was burned in each month, in tokens and in dollars at the time, as a pandas data frame.

pip install pandas
python3 examples/burns_by_month.py [url]: two calls. SEXTON_KEY is optional.
"""

import os
import sys

import pandas as pd

api = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:4020"
key = os.environ.get("SEXTON_KEY")
headers = {"Authorization": f"Bearer {key}"} if key else {}


def read(path: str) -> pd.DataFrame:
    """One call. Days are UTC, and the newest one is not complete."""
    table = pd.read_csv(f"{api}{path}", storage_options=headers, parse_dates=["date"])
    return table[table["complete"]].set_index("date")


burns = read("/api/burns?period=365d&format=csv")
price = read("/api/stats/history?metric=price&period=365d&format=csv")["value"]
# A dollar value that is not known is empty, not 0: unpricedCount says how many burns lack one.
burns["priceUsd"] = price
months = burns.resample("MS").agg(
    {"burned": "sum", "burnedUsdAtEvent": "sum", "burnCount": "sum", "priceUsd": "mean"}
)
months.index = months.index.strftime("%Y-%m")
print(months.round(4).to_string())
