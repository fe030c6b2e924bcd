"""What every route shares: dispatch, admission, limits, problems, paging, the OpenAPI document."""
