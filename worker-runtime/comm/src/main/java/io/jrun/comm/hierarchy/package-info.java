/**
 * The data plane of a world of several nodes: shared memory between the ranks of a node, TCP between nodes. The
 * algorithms pass parts of a call to these two data planes. The entry class is {@code HierarchicalBackendFactory}.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend}, {@code collective}, {@code control}, {@code shm} and {@code tcp}.
 */
@NullMarked
package io.jrun.comm.hierarchy;

import org.jspecify.annotations.NullMarked;
