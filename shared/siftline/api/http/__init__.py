"""What every route shares: the resolver, admission, limits, problems, paging, the OpenAPI document."""
