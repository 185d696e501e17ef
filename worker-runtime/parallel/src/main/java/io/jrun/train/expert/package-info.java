/**
 * Expert parallelism: a layer of several feed-forward networks, the experts, of which a router gives each token a few.
 * The ranks of an axis share the experts and exchange the tokens. Sources: Switch Transformer (Fedus et al. 2021,
 * arXiv:2101.03961), GShard (Lepikhin et al. 2020, arXiv:2006.16668), Mixtral (Jiang et al. 2024, arXiv:2401.04088).
 *
 * <p>Shapes: T tokens of a rank, D width, E experts, K experts of a token, A choices that the experts accept.
 */
@NullMarked
package io.jrun.train.expert;

import org.jspecify.annotations.NullMarked;
