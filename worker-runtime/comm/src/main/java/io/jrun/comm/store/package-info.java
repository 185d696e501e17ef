/**
 * The table behind {@code Store}, kept by whoever coordinates the world: the launcher's coordinator, or a
 * {@code LocalWorld}. Entry class: {@code StoreTable}.
 */
@NullMarked
package io.jrun.comm.store;

import org.jspecify.annotations.NullMarked;
