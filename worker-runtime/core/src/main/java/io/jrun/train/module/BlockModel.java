package io.jrun.train.module;

import java.util.List;

/** A model of blocks, whose forward pass calls {@link ModelBlock#forward} of each block. */
public interface BlockModel {
    /** The built blocks in their order, each the same object in all calls. */
    List<ModelBlock> blocks();
}
