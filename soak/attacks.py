"""All attacks by name."""

from soak import (
    environments,
    explorers,
    invariance,
    kills,
    policy_files,
    presentations,
    prior_texts,
    results,
    solves,
    studio_requests,
    vector_envs,
)

ATTACKS = {
    attack.name: attack
    for attack in (
        presentations.ATTACK,
        invariance.ATTACK,
        solves.ATTACK,
        policy_files.ATTACK,
        prior_texts.ATTACK,
        explorers.ATTACK,
        results.ATTACK,
        environments.ATTACK,
        vector_envs.ATTACK,
        studio_requests.ATTACK,
        kills.ATTACK,
    )
}
