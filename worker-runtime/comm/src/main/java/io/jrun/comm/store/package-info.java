/**
 * The table behind {@link io.jrun.comm.Store}, kept by whoever coordinates the world: the launcher's coordinator, or a
 * {@code LocalWorld}. Entry class: {@link io.jrun.comm.store.StoreTable}.
 */
@NullMarked
package io.jrun.comm.store;

import org.jspecify.annotations.NullMarked;
