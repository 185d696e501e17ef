/**
 * The data plane of a world of several nodes: shared memory between the ranks of a node, TCP between nodes. It moves nothing
 * itself: each algorithm hands parts of a call to the two planes beneath. Entry class:
 * {@code HierarchicalBackendFactory}.
 */
@NullMarked
package io.jrun.comm.hierarchy;

import org.jspecify.annotations.NullMarked;
