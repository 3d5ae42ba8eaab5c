#pragma once
// The straightforward PyTorch expressions that the workbench is timed against.

#include <vector>

/// Median seconds of one row of `-log(exponential_)` noise, single thread.
double rival_noise_seconds(int vocab, int repetitions);
/// Median seconds of scoring `rows` rows: filter, softmax, noise, margin, ranks. T = 1.
double rival_score_seconds(const std::vector<float>& logits, int rows, int vocab, double top_p, int repetitions);
