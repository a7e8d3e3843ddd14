import datetime
from typing import Any

version: str
torch_version: str

def make(store: Any, rank: int, size: int, timeout: datetime.timedelta, name: str, stages_all: bool = False) -> Any: ...
def name_callbacks_after(after: datetime.timedelta) -> None: ...
