package io.jrun.train.pipeline;

import io.jrun.train.pipeline.schedule.PipelineAction;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The computations of the stages of one rank. {@link PipelineExecutor} calls them in the order of the schedule, all on
 * one thread. Tensors that come and go are owned by the receiver, which closes them.
 */
public interface StageComputation {
    /**
     * The forward pass of a micro-batch through a stage.
     *
     * @param input the output of the stage before; null for the first stage, which has the input of the model
     * @return the contiguous output for the next stage; null for the last stage, which keeps the loss
     */
    @Nullable
    Tensor forward(PipelineAction action, @Nullable Tensor input);

    /**
     * The backward pass: the gradients of the weights and of the stage's input, or of the input only.
     *
     * @param outputGradient null for the last stage, which begins at the loss
     * @return the contiguous gradient of the stage's input; null for the first stage
     */
    @Nullable
    Tensor backward(PipelineAction action, @Nullable Tensor outputGradient);

    /** The gradients of weights that {@link #backward} has left. */
    void weightBackward(PipelineAction action);
}
