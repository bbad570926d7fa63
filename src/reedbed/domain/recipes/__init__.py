"""Files of the operator that teach Reedbed a site, a service to send entries to, or a theme: data, never code."""
