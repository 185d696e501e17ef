package io.jrun.trainer;

import io.jrun.trainer.DeepSpeedKey.Treatment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The keys of DeepSpeed's configuration that this program knows. docs/deepspeed.md has the same table. Source of the
 * keys and of their defaults: DeepSpeed's docs/_pages/config-json.md and deepspeed/runtime/zero/config.py.
 */
final class DeepSpeedKeyTable {
    private DeepSpeedKeyTable() {}

    /** All keys by their path. */
    static Map<String, DeepSpeedKey> all() {
        Map<String, DeepSpeedKey> keys = new LinkedHashMap<>();
        addMapped(keys);
        addIgnored(keys);
        addRefused(keys);
        return keys;
    }

    private static void addMapped(Map<String, DeepSpeedKey> keys) {
        mapped(
                keys,
                "train_batch_size",
                "train_micro_batch_size_per_gpu",
                "gradient_accumulation_steps",
                "gradient_clipping",
                "steps_per_print",
                "bf16.enabled",
                "bfloat16.enabled",
                "fp16.enabled",
                "optimizer.type",
                "optimizer.params.lr",
                "optimizer.params.betas",
                "optimizer.params.eps",
                "optimizer.params.weight_decay",
                "optimizer.params.momentum",
                "optimizer.params.adam_w_mode",
                "optimizer.params.bias_correction",
                "optimizer.params.max_grad_norm",
                "scheduler.*",
                "scheduler.params.*",
                "zero_optimization.stage",
                "zero_optimization.offload_param.device",
                "zero_optimization.offload_param.nvme_path",
                "zero_optimization.offload_optimizer.device",
                "zero_optimization.zero_hpz_partition_size",
                "zero_optimization.mics_shard_size",
                "tensor_parallel.autotp_size",
                "sequence_parallel_size",
                "torch_autocast.enabled",
                "torch_autocast.dtype");
    }

    private static void addIgnored(Map<String, DeepSpeedKey> keys) {
        ignored(
                keys,
                "the states of the optimizer lie beside the parameters",
                "zero_optimization.offload_optimizer.nvme_path");
        ignored(
                keys,
                DeepSpeedKey.HOST_MEMORY,
                "zero_optimization.offload_optimizer.pin_memory",
                "zero_optimization.offload_optimizer.ratio",
                "zero_optimization.offload_param.pin_memory",
                "zero_optimization.offload_param.max_in_cpu",
                "zero_optimization.cpu_offload",
                "zero_optimization.cpu_offload_param",
                "zero_optimization.cpu_offload_params",
                "zero_optimization.cpu_offload_use_pin_memory",
                "zero_force_ds_cpu_optimizer");
        ignored(
                keys,
                "files are read one unit ahead",
                "zero_optimization.offload_optimizer.buffer_count",
                "zero_optimization.offload_optimizer.fast_init",
                "zero_optimization.offload_optimizer.pipeline_read",
                "zero_optimization.offload_optimizer.pipeline_write",
                "zero_optimization.offload_param.buffer_count",
                "zero_optimization.offload_param.buffer_size",
                "aio.*");
        ignored(
                keys,
                "buckets have DDP's sizes",
                "zero_optimization.reduce_bucket_size",
                "zero_optimization.allgather_bucket_size",
                "zero_optimization.parameter_alignment",
                "allgather_size");
        ignored(
                keys,
                "gradients and parameters always travel so",
                "zero_optimization.contiguous_gradients",
                "zero_optimization.reduce_scatter",
                "zero_optimization.allgather_partitions",
                "zero_optimization.overlap_comm",
                "zero_optimization.round_robin_gradients",
                "zero_optimization.use_multi_rank_bucket_allreduce",
                "zero_optimization.stage3_use_all_reduce_for_fetch_params",
                "zero_optimization.mics_hierarchical_params_gather",
                "zero_optimization.ignore_unused_parameters",
                "zero_optimization.memory_efficient_linear",
                "zero_optimization.compute_grad_norm",
                "zero_optimization.log_trace_cache_warnings",
                "zero_optimization.enable_sanity_checks",
                "zero_optimization.override_module_apply",
                "zero_optimization.use_all_reduce_for_fetch_params",
                "dataloader_drop_last");
        ignored(
                keys,
                "each block is a unit, and one unit is gathered ahead",
                "zero_optimization.sub_group_size",
                "zero_optimization.stage3_prefetch_bucket_size",
                "zero_optimization.stage3_param_persistence_threshold",
                "zero_optimization.stage3_max_live_parameters",
                "zero_optimization.stage3_max_reuse_distance",
                "zero_optimization.stage3_module_granularity_threshold",
                "zero_optimization.prefetch_bucket_size",
                "zero_optimization.param_persistence_threshold",
                "zero_optimization.max_live_parameters",
                "zero_optimization.max_reuse_distance",
                "zero_optimization.module_granularity_threshold",
                "zero_optimization.stage3_model_persistence_threshold",
                "zero_optimization.model_persistence_threshold",
                "zero_optimization.stage3_allgather_sequential",
                "zero_optimization.allgather_sequential",
                "zero_optimization.stage3_partition_stream_chunk_size",
                "zero_optimization.partition_stream_chunk_size",
                "zero_optimization.leaf_module.*");
        ignored(
                keys,
                "this program divides its own layers",
                "tensor_parallel.preset_model",
                "tensor_parallel.tp_overlap_comm",
                "tensor_parallel.vocab_parallel_lm_head",
                "tensor_parallel.partition_config.*");
        ignored(keys, "the tokenizer gives the size of the vocabulary", "vocabulary_size");
        ignored(
                keys,
                "checkpoints have one form",
                "zero_optimization.stage3_gather_16bit_weights_on_model_save",
                "zero_optimization.stage3_gather_fp16_weights_on_model_save",
                "zero_optimization.gather_16bit_weights_on_model_save",
                "zero_optimization.elastic_checkpoint",
                "zero_optimization.load_from_fp32_weights",
                "zero_optimization.pipeline_loading_checkpoint",
                "use_node_local_storage",
                "nebula.*",
                "datastates.*",
                "checkpoint.*");
        ignored(keys, "this program checks the optimizer by itself", "zero_allow_untested_optimizer");
        ignored(
                keys,
                "jrun always measures the phases of a step",
                "wall_clock_breakdown",
                "memory_breakdown",
                "dump_state");
        ignored(
                keys,
                "jrun reports metrics by itself; --tensorboard=DIR writes event files",
                "tensorboard.*",
                "wandb.*",
                "csv_monitor.*",
                "comet.*",
                "comms_logger.*",
                "comms_config.*",
                "monitor_config.*",
                "flops_profiler.*",
                "timers.*",
                "autotuning.*");
        ignored(
                keys,
                "the weights are in float32, and the loss scale of f16 changes as torch's",
                "fp16.auto_cast",
                "fp16.loss_scale",
                "fp16.initial_scale_power",
                "fp16.loss_scale_window",
                "fp16.hysteresis",
                "fp16.consecutive_hysteresis",
                "fp16.min_loss_scale",
                "fp16.fused_mode",
                "bf16.immediate_grad_update",
                "bf16.check_grad_overflow",
                "bfloat16.immediate_grad_update",
                "torch_autocast.lower_precision_safe_modules");
        ignored(keys, "--recompute=N chooses the blocks that are recomputed", "activation_checkpointing.*");
        ignored(
                keys,
                "fused kernels are chosen with optimizer.type",
                "optimizer.params.torch_adam",
                "optimizer.params.fused",
                "optimizer.legacy_fusion");
    }

    private static void addRefused(Map<String, DeepSpeedKey> keys) {
        String ownType = "gradients are divided once, in their own type";
        refused(
                keys,
                ownType,
                Set.of(false),
                "prescale_gradients",
                "fp32_allreduce",
                "sparse_gradients",
                "disable_allgather",
                "zero_optimization.zero_quantized_weights",
                "zero_optimization.zero_quantized_nontrainable_weights",
                "zero_optimization.zero_quantized_gradients");
        refused(keys, ownType, Set.of(1L), "gradient_predivide_factor");
        refused(
                keys,
                ownType,
                Set.of("none", "None", "fp32"),
                "communication_data_type",
                "seq_parallel_comm_data_type",
                "seq_parallel_communication_data_type",
                "data_types.grad_accum_dtype");
        refused(keys, ownType, Set.of(), "zero_optimization.zeropp_loco_param.*");
        refused(keys, "gradients are averaged: give mean", Set.of("mean"), "gradient_allreduce_op");
        refused(
                keys,
                "the optimizer steps at the end of the accumulation: give true",
                Set.of(true),
                "managed_gradient_accumulation");
        refused(
                keys,
                "master weights, gradients and states are in float32: give false",
                Set.of(false),
                "fp16.fp16_master_weights_and_grads",
                "bf16.bf16_master_weights_and_grads",
                "bf16.bf16_optimizer_states");
        refused(
                keys,
                "this program has no such form of the optimizer: give false",
                Set.of(false, 0L),
                "optimizer.params.amsgrad",
                "optimizer.params.maximize",
                "optimizer.params.nesterov",
                "optimizer.params.dampening",
                "zero_optimization.legacy_stage1",
                "zero_optimization.save_muon_momentum_buffer_in_memory");
        refused(keys, "use bf16 or fp16", Set.of(), "amp.*");
        refused(keys, "use --dp and jrun's --nnodes=MIN:MAX", Set.of(), "elasticity.*");
        String stages = "give --pp=N on the command line";
        refused(keys, stages, Set.of("best"), "pipeline.partition");
        refused(keys, stages, Set.of(true), "pipeline.pipe_partitioned", "pipeline.grad_partitioned");
        refused(keys, stages, Set.of(false, 0L, 1L), "pipeline.*");
        refused(keys, "give --ep=N and --experts=N on the command line", Set.of(), "expert_parallel.*");
        refused(
                keys,
                "give --ep=N and --experts=N on the command line",
                Set.of(false),
                "use_data_before_expert_parallelism");
        refused(
                keys,
                "this program has no such training",
                Set.of(false),
                "graph_harvesting",
                "compile.*",
                "zero_optimization.zenflow.*",
                "weight_quantization.*",
                "curriculum_learning.*",
                "data_efficiency.*",
                "compression_training.*",
                "sparse_attention.*",
                "progressive_layer_drop.*",
                "eigenvalue.*",
                "quantize_training.*",
                "hybrid_engine.*");
    }

    private static void mapped(Map<String, DeepSpeedKey> keys, String... paths) {
        put(keys, new DeepSpeedKey(Treatment.MAPPED, "", Set.of()), paths);
    }

    private static void ignored(Map<String, DeepSpeedKey> keys, String why, String... paths) {
        put(keys, new DeepSpeedKey(Treatment.IGNORED, why, Set.of()), paths);
    }

    private static void refused(Map<String, DeepSpeedKey> keys, String instead, Set<Object> defaults, String... paths) {
        put(keys, new DeepSpeedKey(Treatment.REFUSED, instead, defaults), paths);
    }

    private static void put(Map<String, DeepSpeedKey> keys, DeepSpeedKey key, String... paths) {
        List.of(paths).forEach(path -> keys.put(path, key));
    }
}
