/* SPDX-License-Identifier: MIT */
/* One limit on one profile, as `bytepoll check` judges it (check/check.h). */
#include <math.h>
#include <string.h>

#include "check/check.h"
#include "library/handles.h"
#include "policy/defaults.h"

static bool read_limit(const struct bytepoll_limit *asked, struct bytepoll_limit *ret_known,
	struct bp_limit *ret_limit, struct bytepoll_error *error)
{
	static char no_text[] = "";
	const uint32_t known_flags = BYTEPOLL_LIMIT_OBJECTS | BYTEPOLL_LIMIT_ONLY_SEEN;
	struct bp_error reason;
	struct bytepoll_limit known;
	if (asked == NULL)
		return bp_call_wrong(error, "no limit given");
	if (!bp_struct_take(&known, sizeof known, asked, "the limit", error))
		return false;
	const int metric =
		bp_question_word(known.metric, bp_metric_names, BP_METRIC_COUNT, "metric", error);
	if (metric < 0)
		return false;
	if ((known.flags & ~known_flags) != 0)
		return bp_call_wrong(error, "flags %#x of the limit are not known", known.flags);
	if (known.false_alarm == 0)
		known.false_alarm = BP_FALSE_ALARM_DEFAULT;
	if (!(known.false_alarm >= 1e-12 && known.false_alarm < 0.5))
		return bp_call_wrong(
			error, "false_alarm %g: must be above 0 and below 0.5", known.false_alarm);
	if (!(known.most >= 0))
		return bp_call_wrong(error, "most %g: must not be below 0", known.most);
	struct bp_limit limit = { .text = no_text,
		.metric = (enum bp_metric)metric,
		.objects = (known.flags & BYTEPOLL_LIMIT_OBJECTS) != 0,
		.most = known.most,
		.filter_text = (char *)known.filter };
	if (known.filter != NULL && !bp_filter_parse(known.filter, &limit.filter, &reason))
		return bp_call_failed(error, BYTEPOLL_ERROR_CALL, &reason);
	*ret_known = known;
	*ret_limit = limit;
	return true;
}

/* Sentences belong to tables. */
static bool leave_out(void *context, const char *sentence)
{
	(void)context;
	(void)sentence;
	return true;
}

static struct bytepoll_check_result result_given(const struct bp_check_result *result)
{
	struct bytepoll_check_result given = { .outcome = bp_outcome_names[result->outcome],
		.reason = bp_reason_name(result),
		.figure = bp_figure_given(&result->figure),
		.flags = (result->low_holds ? BYTEPOLL_LOW_HOLDS : 0u) |
			 (result->high_holds ? BYTEPOLL_HIGH_HOLDS : 0u) |
			 (result->nothing_matches ? BYTEPOLL_NOTHING_MATCHES : 0u),
		.samples = result->samples,
		.interval = result->interval_max };
	if (!result->low_holds)
		given.figure.low = -INFINITY;
	if (!result->high_holds)
		given.figure.high = INFINITY;
	if (result->reason == BP_REASON_SAMPLES) {
		given.samples_needed = result->need.samples;
		given.interval_needed = result->need.interval;
	}
	return given;
}

static bool judge(const struct bytepoll_profile *profile, const struct bytepoll_query *query,
	const struct bytepoll_limit *asked, struct bytepoll_check_result *ret_given,
	struct bytepoll_error *error)
{
	struct bp_question question;
	struct bytepoll_limit known = { 0 };
	struct bp_limit limit;
	struct bp_measure measure;
	struct bp_check_result result;
	struct bp_error reason;
	struct bp_warner warner = { .add = leave_out };
	if (!read_limit(asked, &known, &limit, error) || !bp_question_read(query, &question, error))
		return false;
	const struct bp_measuring measuring = { .query = &question.query,
		.only_seen = (known.flags & BYTEPOLL_LIMIT_ONLY_SEEN) != 0,
		.a = known.false_alarm,
		.runs = 1 };
	bool good = limit.metric == BP_METRIC_LIVE || !question.query.has_at ||
		    bp_call_wrong(error, "`at` is for metric live: %s has no moment",
			    bp_metric_names[limit.metric]);
	good = good && (bp_measure_all(&profile->profile, &measuring, &limit, 1, &measure, &warner,
				&reason) ||
			       bp_call_failed(error, BYTEPOLL_ERROR_ABSENT, &reason));
	if (good) {
		bp_check_limit(&limit, &measure, profile->file, known.false_alarm, &result);
		*ret_given = result_given(&result);
	}
	bp_question_finish(&question);
	return good;
}

bool bytepoll_check(struct bytepoll_profile *profile, const struct bytepoll_query *query,
	const struct bytepoll_limit *limit, struct bytepoll_check_result *ret_result,
	struct bytepoll_error *error)
{
	struct bytepoll_check_result given;
	const struct bp_plain_locale locale = bp_locale_enter();
	const bool good = judge(profile, query, limit, &given, error);
	bp_locale_leave(locale);
	if (!good)
		return false;
	return bp_struct_give(ret_result, &given, sizeof given) ||
	       bp_call_wrong(error, "struct_bytes of the result is not set");
}
